require "socket"

pid = fork { exit 3 }
raise "fork" unless Process.wait2(pid)[1].exitstatus == 3
raise "shell" unless `echo x` == "x\n"
raise "thread" unless Thread.new { 1 + 1 }.value == 2
raise "interfaces" if Socket.getifaddrs.empty?
server = TCPServer.new("127.0.0.1", 0)
Thread.new { server.accept.puts "hi" }
raise "socket" unless TCPSocket.new("127.0.0.1", server.addr[1]).gets == "hi\n"
puts "ok"
