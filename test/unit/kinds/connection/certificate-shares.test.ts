import { describe, expect, test } from "vitest";
import { CertificateShares } from "../../../../src/kinds/connection/certificate-shares.ts";

const bundle = (id: string, length: number) => ({ caBundle: id.padEnd(length, "x") });
const key = (namespace: string, name: string) => `Connection/${namespace}/${name}`;

describe("certificates of Connections", () => {
  test("a namespace has a maximum for all of its Connections", () => {
    const shares = new CertificateShares();
    shares.note(key("a", "1"), bundle("1", 262_144));
    expect(shares.fits(key("a", "2"), bundle("2", 131_072))).toBe(true);
    expect(shares.fits(key("a", "2"), bundle("2", 131_073))).toBe(false);
    expect(shares.fits(key("b", "2"), bundle("2", 262_144))).toBe(true);
  });

  test("equal bundles count once, and a replaced or removed one no longer", () => {
    const shares = new CertificateShares();
    for (const name of ["1", "2", "3"]) {
      expect(shares.fits(key("a", name), bundle("same", 262_144))).toBe(true);
      shares.note(key("a", name), bundle("same", 262_144));
    }
    expect(shares.fits(key("a", "4"), bundle("other", 262_144))).toBe(false);
    shares.note(key("a", "1"), {});
    shares.note(key("a", "2"), bundle("small", 10));
    shares.forget(key("a", "3"));
    expect(shares.fits(key("a", "4"), bundle("other", 262_144))).toBe(true);
  });

  test("many namespaces with large bundles leave room for a small one, and for ClusterConnections", () => {
    const shares = new CertificateShares();
    for (let n = 0; n < 100; n += 1)
      if (shares.fits(key(`${n}`, "c"), bundle(`${n}`, 262_144)))
        shares.note(key(`${n}`, "c"), bundle(`${n}`, 262_144));
    expect(shares.fits(key("99", "c"), bundle("99", 262_144))).toBe(false);
    expect(shares.fits(key("99", "c"), bundle("99", 8_192))).toBe(true);
    expect(shares.fits("ClusterConnection/default", bundle("admin", 262_144))).toBe(true);
  });

  test("a chain counts like a bundle", () => {
    const clientCertificate = (id: string) => ({
      clientCertificate: { chain: id.padEnd(32_768, "x") },
    });
    const shares = new CertificateShares();
    const used = Array.from({ length: 40 }, (_, n) => `${n}`).filter((n) => {
      const settings = clientCertificate(n) as never;
      const fits = shares.fits(key("a", n), settings);
      if (fits) shares.note(key("a", n), settings);
      return fits;
    });
    expect(used).toHaveLength(12);
  });
});
