/** How much more a test with random cases should try: `numRuns: 300 * effort`. */
export const effort = process.env.TEST_SUITE === "all" ? 20 : 1;
