// Takes memory outside of the heap that V8 limits.
// want: status memory_limit error
// want: env SANDBOX_MEMORY=256m
// want: stdout-lacks unlimited

const keep = [];
for (let n = 0; n < 64; n++) keep.push(Buffer.alloc(32 << 20, 1));
console.log("unlimited");
