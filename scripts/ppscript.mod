module git.example.com/perf/scripts
