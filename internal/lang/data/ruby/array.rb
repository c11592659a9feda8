words = %w[apple avocado banana blueberry cherry]
words.group_by { |word| word[0] }.each do |letter, group|
  puts "#{letter}: #{group.join(', ')} (#{group.sum(&:size)} letters)"
end
