# Waits in a function of a thread that its name tells, while another one burns CPU time.

def burns(stop)
  1000.times while Time.now < stop
end

def waits(stop)
  Thread.current.name = 'waiter'
  sleep 0.02 while Time.now < stop
end

stop = Time.now + 1
other = Thread.new { waits(stop) }
burns(stop)
other.join
