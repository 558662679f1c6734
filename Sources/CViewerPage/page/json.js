// JSON whose numbers keep all their digits.

/** The key of an object that represents a number. The key is random, so that no value of a journal has it. */
const key = `number-${Math.random().toString(36).slice(2)}`;
const written = new RegExp(`\\{\\s*"${key}":\\s*"([^"]*)"\\s*\\}`, "g");

/**
 * Parses JSON. A number whose text JavaScript would change, such as `9007199254740993` or `1.0`, becomes an object that
 * `numberText` and `stringify` understand. All other numbers become JavaScript numbers.
 */
export function parse(text) {
  const token = /"|-?\d[\d.eE+-]*/g;
  let exact = "";
  let start = 0;
  for (let match; (match = token.exec(text));) {
    const [found] = match;
    if (found === '"') {
      // A loop, because a regular expression would run out of memory for a long string.
      let end = token.lastIndex;
      while (end < text.length && text[end] !== '"') end += text[end] === "\\" ? 2 : 1;
      token.lastIndex = end + 1;
    } else if (String(Number(found)) !== found) {
      exact += `${text.slice(start, match.index)}{"${key}":"${found}"}`;
      start = token.lastIndex;
    }
  }
  return JSON.parse(exact + text.slice(start));
}

export function stringify(value) {
  return JSON.stringify(value, null, 1).replace(/\n\s*/g, " ").replace(written, "$1");
}

/** The digits of a number, or null if the value is something else. */
export function numberText(value) {
  return typeof value === "number" ? String(value) : value?.[key] ?? null;
}
