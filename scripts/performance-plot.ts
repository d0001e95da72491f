/**
 * Draws how time and memory grow with the number of ApiKeys, for docs/performance.md:
 *
 *   node scripts/performance-plot.ts > docs/images/performance.svg
 *
 * The figures are in docs/images/performance.json; they are measured, not computed.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { COLORS, escaped, text } from "./svg.ts";

interface Figures {
  readonly panels: readonly {
    readonly title: string;
    readonly unit: string;
    readonly lines: Readonly<Record<string, readonly (readonly [number, number])[]>>;
  }[];
}

const WIDTH = 420;
const HEIGHT = 280;
const PLOT = { left: 58, top: 34, right: WIDTH - 24, bottom: HEIGHT - 62 };
const STEPS = 4;
const LEGEND_WIDTH = 130;
const [MIDDLE, END] = ['text-anchor="middle"', 'text-anchor="end"'];

const file = join(import.meta.dirname, "..", "docs/images/performance.json");
const { panels } = JSON.parse(readFileSync(file, "utf8")) as Figures;
const drawn = panels.map(
  (panel, index) => `<g transform="translate(${index * WIDTH} 0)">${draw(panel)}</g>`,
);
const size = `viewBox="0 0 ${WIDTH * panels.length} ${HEIGHT}"`;
console.log(
  `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif" font-size="11" fill="#333">` +
    `<title>${escaped(panels.map(({ title }) => title).join("; "))}</title>` +
    `<rect width="100%" height="100%" fill="#fff"/>${drawn.join("\n")}</svg>`,
);

function draw({ title, unit, lines }: Figures["panels"][number]): string {
  const points = Object.values(lines).flat();
  const most = { x: roundUp(points.map(([x]) => x)), y: roundUp(points.map(([, y]) => y)) };
  const xOf = (x: number) => PLOT.left + (x / most.x) * (PLOT.right - PLOT.left);
  const yOf = (y: number) => PLOT.bottom - (y / most.y) * (PLOT.bottom - PLOT.top);
  const grid = Array.from({ length: STEPS + 1 }, (_, step) => {
    const [x, y] = [(most.x * step) / STEPS, (most.y * step) / STEPS];
    return (
      `<path d="M${PLOT.left} ${yOf(y)}H${PLOT.right}" stroke="#ddd"/>` +
      text(PLOT.left - 6, yOf(y) + 4, y.toLocaleString("en"), END) +
      text(xOf(x), PLOT.bottom + 16, x.toLocaleString("en"), MIDDLE)
    );
  });
  const curves = Object.entries(lines).map(([name, values], index) => {
    const color = COLORS[index];
    const path = values.map(([x, y]) => `${xOf(x).toFixed(1)} ${yOf(y).toFixed(1)}`).join(" ");
    const dots = values
      .map(
        ([x, y]) =>
          `<circle cx="${xOf(x).toFixed(1)}" cy="${yOf(y).toFixed(1)}" r="3" fill="${color}"/>`,
      )
      .join("");
    const x = PLOT.left + index * LEGEND_WIDTH;
    const legend = `<rect x="${x}" y="${HEIGHT - 21}" width="12" height="3" fill="${color}"/>${text(x + 17, HEIGHT - 16, name)}`;
    return `<polyline points="${path}" fill="none" stroke="${color}" stroke-width="1.5"/>${dots}${legend}`;
  });
  const head = text(PLOT.left, 20, `${title}, ${unit}`, 'font-size="13" font-weight="bold"');
  const foot = text((PLOT.left + PLOT.right) / 2, PLOT.bottom + 32, "ApiKeys", MIDDLE);
  return [head, ...grid, ...curves, foot].join("");
}

/** To a number that is round after it is divided into steps. */
function roundUp(values: readonly number[]): number {
  const least = Math.max(...values) / STEPS;
  const unit = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 2.5, 5, 10].find((each) => each * unit >= least) ?? 10;
  return step * unit * STEPS;
}
