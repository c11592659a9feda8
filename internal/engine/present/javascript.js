// Reads packages, one a line, and prints those that are not there: the line, a tab, and why.
const fs = require("fs");
const path = require("path");
const { builtinModules } = require("module");

function installed(name) {
  for (const dir of require.resolve.paths(name + "/") || []) {
    try {
      return JSON.parse(fs.readFileSync(path.join(dir, name, "package.json"), "utf8")).version;
    } catch {
      // not in this directory
    }
  }
}

function numbers(version) {
  return version.split(/[-+]/)[0].split(".").map((n) => parseInt(n, 10) || 0);
}

// compare returns a negative number, 0 or a positive number.
function compare(a, b) {
  for (let i = 0; i < 3; i++) {
    const difference = (a[i] || 0) - (b[i] || 0);
    if (difference) return difference;
  }
  return 0;
}

function satisfies(version, range) {
  const [, operator, wanted] = range.match(/^(\^|~|>=|<=|>|<|=)?(.*)$/);
  if (wanted === "*") return true;
  if (!/^\d/.test(wanted)) return false; // a tag, such as latest
  if (!operator || operator === "=") {
    return version === wanted || (/^\d+(\.\d+)?$/.test(wanted) && (version + ".").startsWith(wanted + "."));
  }
  const has = numbers(version);
  const want = numbers(wanted);
  const order = compare(has, want);
  switch (operator) {
    case ">=": return order >= 0;
    case "<=": return order <= 0;
    case ">": return order > 0;
    case "<": return order < 0;
    case "~": return order >= 0 && has[0] === want[0] && has[1] === want[1];
    default: { // ^ keeps everything up to the first number that is not 0
      const fixed = want.findIndex((n) => n > 0);
      return order >= 0 && has.slice(0, fixed + 1).every((n, i) => n === want[i]);
    }
  }
}

for (const line of fs.readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const at = line.indexOf("@", 1);
  const name = at < 0 ? line : line.slice(0, at);
  const range = at < 0 ? "*" : line.slice(at + 1);
  if (builtinModules.includes(name) && range === "*") continue;
  const version = installed(name);
  if (version === undefined) console.log(`${line}\tit is not installed`);
  else if (!satisfies(version, range)) console.log(`${line}\tversion ${version} is installed`);
}
