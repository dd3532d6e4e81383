<?php
// Waits in a function, as a process that its name tells.

function waits($end)
{
    while (microtime(true) < $end) {
        usleep(20000);
    }
}

file_put_contents("/proc/self/comm", "waiter");
waits(microtime(true) + 1);
