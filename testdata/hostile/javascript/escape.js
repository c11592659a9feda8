// Reads secrets and signals the supervisor from Node.
// want: exit 0
// want: stdout refused

const fs = require("fs");
const net = require("net");
for (const name of ["/etc/shadow", "/proc/1/environ", "/proc/1/mem", "/root/.bashrc"]) {
  try { if (fs.readFileSync(name).length) console.log("read", name); } catch {}
}
for (const signal of ["SIGKILL", "SIGTERM", "SIGSTOP"]) {
  try { process.kill(1, signal); } catch {}
}
try { process.setuid(0); console.log("root"); } catch {}
const socket = net.connect({ host: "1.1.1.1", port: 53, timeout: 1000 });
socket.on("connect", () => { console.log("connected"); process.exit(); });
for (const event of ["error", "timeout"]) socket.once(event, () => { console.log("refused"); process.exit(); });
