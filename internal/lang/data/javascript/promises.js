import { setTimeout as delay } from "node:timers/promises";

async function task(name, ms) {
  await delay(ms);
  return `${name} took ${ms} ms`;
}

const results = await Promise.all([task("a", 30), task("b", 10), task("c", 20)]);
console.log(results.join("\n"));
