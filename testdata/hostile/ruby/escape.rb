# Reads secrets and forks away from Ruby.
# want: exit 0
# want: stdout refused
# want: sleeps 7453

%w[/etc/shadow /proc/1/environ /proc/1/mem /root/.bashrc].each do |name|
  begin
    puts "read #{name}" unless File.read(name, 1).to_s.empty?
  rescue SystemCallError
  end
end
begin
  Process::UID.change_privilege(0)
  puts "root"
rescue SystemCallError, NotImplementedError
end
fork { Process.daemon; exec "sleep", "7453" }
puts "refused"
