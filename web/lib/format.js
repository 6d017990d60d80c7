// Numbers and words as the page writes them.

const MISSING = "–";

function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}

function fixed(value, digits) {
  return isNumber(value) ? value.toFixed(digits).replace("-", "−") : MISSING;
}

const percent = (value) => fixed(value, 1);

function meanSd(cell) {
  if (!cell || !isNumber(cell.mean)) return MISSING;
  return isNumber(cell.sd) ? `${percent(cell.mean)} ± ${percent(cell.sd)}` : percent(cell.mean);
}

// Three significant digits, in plain notation where that is short.
function compact(value) {
  if (!isNumber(value)) return value === null || value === undefined ? MISSING : String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value).replace("-", "−");
  const size = Math.abs(value);
  const text = size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(2) : String(Number(value.toPrecision(4)));
  return text.replace(/-/g, "−");
}

// In powers of 1000, as the command line writes sizes.
function bytes(value) {
  if (!isNumber(value)) return MISSING;
  if (value < 1000) return `${value} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let unit = -1;
  let size = value;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${size.toFixed(size < 99.95 ? 1 : 0)} ${units[unit]}`;
}

function duration(seconds) {
  if (!isNumber(seconds)) return MISSING;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function ordinal(place) {
  const words = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"];
  if (place >= 1 && place <= words.length) return words[place - 1];
  const teen = place % 100 >= 11 && place % 100 <= 13;
  return `${place}${teen ? "th" : ["th", "st", "nd", "rd"][place % 10] || "th"}`;
}

// "a, b and c".
function wordList(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}

function count(number, singular, plural = `${singular}s`) {
  return `${number} ${number === 1 ? singular : plural}`;
}
