// Loaded ahead of an ES module whose code also uses names of CommonJS: gives it require, module,
// exports, __filename and __dirname, as its main script would have them.
const { createRequire } = require("node:module");
const { isMainThread } = require("node:worker_threads");

if (isMainThread) {
  const filename = `${__dirname}/main.mjs`;
  const main = { id: ".", filename, path: __dirname, exports: {}, loaded: false, children: [], paths: [] };
  const requireFromMain = createRequire(filename);
  requireFromMain.main = main;
  main.require = requireFromMain;

  const names = { require: requireFromMain, module: main, exports: main.exports, __filename: filename, __dirname };
  for (const [name, value] of Object.entries(names)) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  }
}
