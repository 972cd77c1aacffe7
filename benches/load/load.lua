-- A wrk script that asks for the paths listed in a file, one per line.
--
--   LOAD_PATHS   the file
--   LOAD_TOKEN   the bearer token
--   LOAD_ORDER   "random": any path, again and again, until wrk's time is over;
--                "once": each path once, in the file's order, then stop (for one thread and one connection)
--   LOAD_NAME    what to call the figure
--   LOAD_ROWS    rows that each request goes over, where rows per second are the figure

local requests = {}
local asked, answered = 0, 0
local once = os.getenv("LOAD_ORDER") == "once"
local threads = 0

function setup(thread)
  thread:set("seed", 1000 + threads)
  threads = threads + 1
end

function init()
  math.randomseed(seed)
  local headers = {
    ["Authorization"] = "Bearer " .. os.getenv("LOAD_TOKEN"),
    ["Accept"] = "application/fhir+json",
  }
  for path in io.lines(os.getenv("LOAD_PATHS")) do
    requests[#requests + 1] = wrk.format("GET", path, headers)
  end
  assert(#requests > 0, "no paths in " .. os.getenv("LOAD_PATHS"))
end

function request()
  if once then
    asked = math.min(asked + 1, #requests)
    return requests[asked]
  end
  return requests[math.random(#requests)]
end

-- wrk counts responses faster where it need not call this, so only `once` defines it.
if once then
  function response()
    answered = answered + 1
    if answered == #requests then
      -- wrk sleeps until its time is over; an interrupt makes it stop and report. The shell's parent is wrk, which
      -- ignores interrupts while it waits for the shell: hence the delay.
      os.execute("(sleep 0.05; kill -INT $PPID) &")
      local now = os.clock()
      while os.clock() - now < 0.2 do end
    end
  end
end

function done(summary, latency)
  local seconds = summary.duration / 1e6
  local failed = summary.errors.status + summary.errors.connect + summary.errors.read
    + summary.errors.write + summary.errors.timeout
  local line = string.format(
    "%-42s median %8.3f ms   p99 %8.3f ms   %9.1f requests/s   %d requests, %d failed",
    os.getenv("LOAD_NAME"), latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    summary.requests / seconds, summary.requests, failed)
  local rows = tonumber(os.getenv("LOAD_ROWS") or "")
  if rows then
    line = line .. string.format("   %.1f million rows/s at the median", rows / latency:percentile(50))
  end
  print(line)
end
