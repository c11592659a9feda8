const candidates = ["axios", "cheerio", "d3", "express", "lodash", "mathjs", "moment", "typescript", "zod"];

const installed = candidates.filter((name) => {
  try {
    require.resolve(name);
    return true;
  } catch {
    return false;
  }
});
console.log(JSON.stringify({ version: `Node.js ${process.versions.node}`, libraries: installed }));
