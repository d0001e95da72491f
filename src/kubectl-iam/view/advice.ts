/** The sentences of a condition's message that say what to do. Pure. */

/** Verbs by which the operator's messages begin an instruction. */
const VERBS =
  "Activate|Add|Ask|Bind|Choose|Correct|Create|Delete|Find|Follow|Give|Label|Leave|Lower|Make|Name|Remove|Restart|Revoke|Set|Use|Wait";
const INSTRUCTION = new RegExp(`^(${VERBS}) `);

/** `undefined` if the message only states what is wrong. */
export function adviceIn(message: string): string | undefined {
  // A full stop inside of a word, as in spec.secret.name, ends no sentence.
  const found = message.split(/(?<=[.!?]) +/).filter((sentence) => INSTRUCTION.test(sentence));
  return found.length === 0 ? undefined : found.join(" ");
}
