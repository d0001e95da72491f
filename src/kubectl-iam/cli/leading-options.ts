/** Options before the command, as in `kubectl iam --context admin status`: kubectl accepts its options anywhere. */
import type { OptionName } from "./options.ts";
import { options } from "./options.ts";

/** Whether the next word is the option's value. */
function takesNextWord(word: string): boolean {
  return (Object.keys(options) as OptionName[]).some((name) => {
    const { flags } = options[name];
    return flags.includes("<") && flags.split(/[ ,]+/).includes(word);
  });
}

/** The same words with the options behind the command, whose names are `depth` words, such as `console login`. */
export function withCommandFirst(words: readonly string[], group = "console"): readonly string[] {
  const [leading, command, ...rest] = splitAtCommand(words);
  if (command === undefined) return words;
  if (command !== group) return [command, ...leading, ...rest];
  const [more, call, ...left] = splitAtCommand(rest);
  return call === undefined
    ? [command, ...leading, ...rest]
    : [command, call, ...leading, ...more, ...left];
}

/** The words that are neither options nor their values. */
export function withoutOptions(words: readonly string[]): readonly string[] {
  const [, word, ...rest] = splitAtCommand(words);
  return word === undefined ? [] : [word, ...withoutOptions(rest)];
}

function splitAtCommand(
  words: readonly string[],
): readonly [readonly string[], string | undefined, ...string[]] {
  let at = 0;
  while (words[at]?.startsWith("-")) at += takesNextWord(words[at] ?? "") ? 2 : 1;
  return [words.slice(0, at), words[at], ...words.slice(at + 1)];
}
