/**
 * Draws the chart's dashboard with what a Prometheus knows, for the documentation: no Grafana is needed.
 *
 *   node scripts/dashboard-picture.ts --prometheus http://127.0.0.1:9090 [--minutes 15] > docs/images/dashboard.svg
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { COLORS, escaped, text } from "./svg.ts";

interface Target {
  readonly expr: string;
  readonly legendFormat: string;
}
interface Panel {
  readonly type: "row" | "stat" | "table" | "timeseries";
  readonly title: string;
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  readonly targets?: readonly Target[];
}
interface Series {
  readonly name: string;
  /** Seconds and values. */
  readonly points: readonly (readonly [number, number])[];
}

const COLUMN = 50;
const ROW = 30;
const WIDTH = 24 * COLUMN;
const LEGEND_LINE = 13;
const MAX_SERIES = 6;
const RATE_INTERVAL = "1m";

const { values } = parseArgs({
  options: {
    prometheus: { type: "string", default: "http://127.0.0.1:9090" },
    minutes: { type: "string", default: "15" },
  },
});
const end = Date.now() / 1_000;
const start = end - Number(values.minutes) * 60;
const file = "charts/iam-operator/files/dashboards/iam-operator.json";
const { title, panels } = JSON.parse(
  readFileSync(join(import.meta.dirname, "..", file), "utf8"),
) as { readonly title: string; readonly panels: readonly Panel[] };

const CONTENT = { stat, table, timeseries } as const;

const height = Math.max(...panels.map(({ gridPos: { y, h } }) => (y + h) * ROW)) + 10;
const drawn = await Promise.all(panels.map(draw));
console.log(
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="11" fill="#333">` +
    `<title>${escaped(title)}</title><rect width="${WIDTH}" height="${height}" fill="#f4f5f5"/>${drawn.join("\n")}</svg>`,
);

async function draw(panel: Panel): Promise<string> {
  const { x, y, w, h } = panel.gridPos;
  const box = { width: w * COLUMN - 8, height: h * ROW - 8 };
  const move = `transform="translate(${x * COLUMN + 4} ${y * ROW + 4})"`;
  if (panel.type === "row")
    return `<g ${move}>${text(4, 17, panel.title, 'font-size="14" font-weight="bold"')}</g>`;
  const frame = `<rect width="${box.width}" height="${box.height}" rx="3" fill="#fff" stroke="#dce1e6"/>`;
  const head = text(8, 17, panel.title, 'font-weight="bold"');
  const series = (await Promise.all((panel.targets ?? []).map(read))).flat();
  return `<g ${move}>${frame}${head}${CONTENT[panel.type](series, panel, box)}</g>`;
}

interface Box {
  readonly width: number;
  readonly height: number;
}

function stat(series: readonly Series[], panel: Panel, box: Box): string {
  const words = series.map(({ points }) => shown(last(points), unitOf(panel)));
  const middle = `font-size="30" text-anchor="middle" fill="#37872d"`;
  return text(box.width / 2, box.height / 2 + 20, words.join(" / ") || "No data", middle);
}

function table(series: readonly Series[], panel: Panel, box: Box): string {
  const rows = series
    .toSorted((a, b) => last(a.points) - last(b.points))
    .slice(0, Math.floor((box.height - 30) / 20));
  return rows
    .map(({ name, points }, index) => {
      const y = 40 + index * 20;
      const value = text(
        box.width - 10,
        y,
        shown(last(points), unitOf(panel)),
        'text-anchor="end"',
      );
      return `${text(10, y, name)}${value}<path d="M8 ${y + 6}H${box.width - 8}" stroke="#eee"/>`;
    })
    .join("");
}

function timeseries(all: readonly Series[], panel: Panel, box: Box): string {
  const series = all.toSorted((a, b) => most(b.points) - most(a.points)).slice(0, MAX_SERIES);
  if (series.length === 0)
    return text(box.width / 2, box.height / 2, "No data", 'text-anchor="middle"');
  const numbers = series.flatMap(({ points }) => points.map(([, value]) => value));
  const low = Math.min(0, ...numbers);
  const high = Math.max(...numbers) || low + 1;
  const plot = {
    left: 64,
    top: 28,
    right: box.width - 10,
    bottom: box.height - 12 - LEGEND_LINE * series.length,
  };
  const xOf = (time: number) =>
    plot.left + ((time - start) / (end - start)) * (plot.right - plot.left);
  const yOf = (value: number) =>
    plot.bottom - ((value - low) / (high - low)) * (plot.bottom - plot.top);
  const scale = [low, (low + high) / 2, high].map((value) => {
    const y = yOf(value).toFixed(1);
    const label = text(
      plot.left - 5,
      Number(y) + 4,
      shown(value, unitOf(panel)),
      'text-anchor="end" fill="#777"',
    );
    return `<path d="M${plot.left} ${y}H${plot.right}" stroke="#eee"/>${label}`;
  });
  const lines = series.map(({ name, points }, index) => {
    const color = COLORS[index];
    const path = points.map(([time, value]) => `${xOf(time).toFixed(1)} ${yOf(value).toFixed(1)}`);
    const y = plot.bottom + 16 + LEGEND_LINE * index;
    return (
      `<polyline points="${path.join(" ")}" fill="none" stroke="${color}" stroke-width="1.5"/>` +
      `<rect x="${plot.left}" y="${y - 5}" width="10" height="3" fill="${color}"/>${text(plot.left + 15, y, name)}`
    );
  });
  return scale.concat(lines).join("");
}

async function read({ expr, legendFormat }: Target): Promise<readonly Series[]> {
  const query = expr
    .replaceAll("$__rate_interval", RATE_INTERVAL)
    .replaceAll("$job", ".*")
    .replaceAll("$namespace", ".*");
  const step = ((end - start) / 120).toFixed(0);
  const url = new URL("/api/v1/query_range", values.prometheus);
  url.search = new URLSearchParams({ query, start: `${start}`, end: `${end}`, step }).toString();
  const answer = (await (await fetch(url)).json()) as {
    readonly error?: string;
    readonly data?: {
      readonly result: readonly {
        readonly metric: Readonly<Record<string, string>>;
        readonly values: readonly (readonly [number, string])[];
      }[];
    };
  };
  if (answer.data === undefined) throw new Error(`${query}: ${answer.error}`);
  return answer.data.result
    .map(({ metric, values: points }) => ({
      name:
        legendFormat === ""
          ? `${metric.namespace}/${metric.name}`
          : legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => metric[label] ?? ""),
      points: points
        .map(([time, value]) => [time, Number(value)] as const)
        .filter(([, value]) => Number.isFinite(value)),
    }))
    .filter(({ points }) => points.length > 0);
}

function last(points: Series["points"]): number {
  return points.at(-1)?.[1] ?? Number.NaN;
}

function most(points: Series["points"]): number {
  return Math.max(...points.map(([, value]) => value));
}

function unitOf({ fieldConfig }: Panel): string {
  return fieldConfig?.defaults.unit ?? "short";
}

/** As Grafana words a value of that unit. */
function shown(value: number, unit: string): string {
  if (unit === "s") return duration(value);
  if (unit === "bytes") return `${(value / 2 ** 20).toFixed(0)} MiB`;
  if (unit === "percentunit") return `${(value * 100).toFixed(0)}%`;
  const rate = { ops: " ops/s", reqps: " req/s" }[unit] ?? "";
  return `${Number(value.toPrecision(2))}${rate}`;
}

function duration(seconds: number): string {
  const sizes = [
    [86_400, "days"],
    [3_600, "h"],
    [60, "min"],
    [1, "s"],
  ] as const;
  const [size, word] = sizes.find(([each]) => Math.abs(seconds) >= each) ?? [0.001, "ms"];
  return `${Number((seconds / size).toPrecision(3))} ${word}`;
}
