<?php
// Burns CPU time in functions, and prints how much each took, in seconds. Usage: burn.php SECONDS

class Work
{
    function much($count)
    {
        $total = 0;
        for ($i = 0; $i < $count; $i++) {
            $total += $i * $i % 7;
        }
        return $total;
    }

    static function little($count)
    {
        $total = 0;
        for ($i = 0; $i < $count; $i++) {
            $total ^= $i;
        }
        return $total;
    }
}

function natively($count)
{
    $all = array_map(function ($i) { return (string)($i * 7919 % 10007); }, range(0, $count));
    sort($all);
    return $all;
}

function deeper($depth, $fn, ...$args)
{
    return $depth ? deeper($depth - 1, $fn, ...$args) : $fn(...$args);
}

function cpu()
{
    $used = getrusage();
    return $used["ru_utime.tv_sec"] + $used["ru_utime.tv_usec"] / 1e6
        + $used["ru_stime.tv_sec"] + $used["ru_stime.tv_usec"] / 1e6;
}

function timed($fn, ...$args)
{
    $begin = cpu();
    deeper(5, $fn, ...$args);
    return cpu() - $begin;
}

function main($seconds)
{
    $work = new Work;
    $took = [0, 0, 0];
    while (array_sum($took) < $seconds) {
        $took[0] += timed([$work, "much"], 600000);
        $took[1] += timed(["Work", "little"], 600000);
        $took[2] += timed("natively", 8000);
    }
    echo implode(" ", $took), "\n";
}

main($argv[1]);
