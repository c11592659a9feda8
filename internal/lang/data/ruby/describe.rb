require "json"

candidates = %w[activesupport gruff nokogiri numo-narray pry rails rspec sequel sinatra sqlite3]

found = candidates.reject { |name| Gem::Specification.find_all_by_name(name).empty? }
puts JSON.generate(version: "Ruby #{RUBY_VERSION}", libraries: found)
