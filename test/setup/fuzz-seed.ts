/** The same random cases in every run, so that a red run says something about the change; `test:all` takes new ones. */
import fc from "fast-check";

if (process.env.TEST_SUITE !== "all") fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 1 });
