puts "Hello from Ruby!"
