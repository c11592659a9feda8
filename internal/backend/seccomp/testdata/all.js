const os = require('os'), fs = require('fs'), net = require('net'), assert = require('assert')
const { execSync } = require('child_process'), { Worker } = require('worker_threads')

assert(os.networkInterfaces().lo.length > 0 && os.cpus().length > 0 && os.userInfo())
assert.equal(execSync('echo child'), 'child\n')
fs.watch('.', () => {}).close()

const worker = new Promise(done => new Worker('require("worker_threads").parentPort.postMessage(1)', { eval: true }).on('message', done))
const answer = new Promise(done => {
  const server = net.createServer(c => { c.end('hi'); server.close() })
  server.listen(0, '127.0.0.1', () => net.connect(server.address().port, '127.0.0.1').on('data', done))
})
const copied = fs.promises.cp(__filename, 'copy.js')
Promise.all([worker, answer, copied]).then(() => console.log('ok'))
