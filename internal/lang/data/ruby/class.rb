class Version
  include Comparable
  attr_reader :parts

  def initialize(text)
    @parts = text.split(".").map(&:to_i)
  end

  def <=>(other)
    parts <=> other.parts
  end

  def to_s = parts.join(".")
end

versions = %w[1.10.0 1.9.3 2.0].map { |text| Version.new(text) }
puts versions.sort.join(" < ")
