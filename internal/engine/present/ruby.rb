# Reads gems, one a line, and prints those that are not there: the line, a tab, and why.
$stdin.each_line(chomp: true) do |line|
  name, requirement = line.split(/\s*(?::|@|\s-v\s|\s--version\s)\s*/, 2)
  wanted = Gem::Requirement.new(requirement || ">= 0")
  versions = Gem::Specification.find_all_by_name(name).map(&:version)
  next if versions.any? { |version| wanted.satisfied_by?(version) }

  if !versions.empty?
    puts "#{line}\tversion #{versions.join(", ")} is installed"
  elsif requirement || !$LOAD_PATH.resolve_feature_path(name)
    puts "#{line}\tit is not installed"
  end
end
