# Burns CPU time in functions, and prints how much each took, in seconds. Usage: burn.rb SECONDS

class Work
  def much(count)
    total = 0
    count.times { |i| total += i * i }
    total
  end

  def little(count)
    total = 0
    i = 0
    while i < count
      total ^= i
      i += 1
    end
    total
  end
end

def natively(count)
  Array.new(count) { |i| (i * 7919 % 10_007).to_s }.sort
end

def deeper(depth, fn, *args)
  return fn.call(*args) if depth.zero?

  deeper(depth - 1, fn, *args)
end

def timed(fn, *args)
  start = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
  deeper(5, fn, *args)
  Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - start
end

def main
  work = Work.new
  took = [0.0, 0.0, 0.0]
  while took.sum < ARGV[0].to_f
    took[0] += timed(work.method(:much), 200_000)
    took[1] += timed(work.method(:little), 200_000)
    took[2] += timed(method(:natively), 30_000)
  end
  puts took.join(' ')
end

main
