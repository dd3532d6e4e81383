// A minimal JIT compiler. It makes two functions at one address, one after the other, runs each for the
// given number of turns, and describes them in a jitdump
// (tools/perf/Documentation/jitdump-specification.txt). It prints the CPU time of each, in ns. With "map" for
// DIR it describes two functions in /tmp/perf-PID.map instead, and removes that file at its end.
// Usage: jitter DIR TURNS_FIRST TURNS_SECOND TURNS_MOVED ROUNDS
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int fd;

static uint64_t now(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts);
    return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void put(const void *p, size_t n)
{
    if (write(fd, p, n) != (ssize_t)n)
        exit(2);
}

static void header(void)
{
    struct { uint32_t magic, version, size, mach, pad, pid; uint64_t time, flags; } h =
        { 0x4A695444, 1, sizeof h, 62, 0, getpid(), now(CLOCK_MONOTONIC), 0 };
    put(&h, sizeof h);
}

static void lines(uint64_t addr, int line)
{
    const char *file = "jitter.src";
    struct { uint32_t id, size; uint64_t time, addr, n; } r = { 2, sizeof r, now(CLOCK_MONOTONIC), addr, 2 };
    struct { uint64_t addr; uint32_t line, discrim; } e = { addr, line, 0 };
    r.size += 2 * sizeof e + strlen(file) + 1 + 2;
    put(&r, sizeof r);
    put(&e, sizeof e);
    put(file, strlen(file) + 1);
    e.addr += 3, e.line++;
    put(&e, sizeof e);
    put("\377\0", 2);
}

static void load(const char *name, void *code, size_t n, uint64_t index)
{
    struct { uint32_t id, size; uint64_t time; uint32_t pid, tid; uint64_t vma, addr, bytes, index; } r =
        { 0, sizeof r + strlen(name) + 1 + n, now(CLOCK_MONOTONIC), getpid(), getpid(),
          (uint64_t)code, (uint64_t)code, n, index };
    lines((uint64_t)code, 10 * (index + 1));
    put(&r, sizeof r);
    put(name, strlen(name) + 1);
    put(code, n);
}

static void move(void *from, void *to, size_t n, uint64_t index)
{
    struct { uint32_t id, size; uint64_t time; uint32_t pid, tid; uint64_t vma, old, new, bytes, index; } r =
        { 1, sizeof r, now(CLOCK_MONOTONIC), getpid(), getpid(), (uint64_t)to, (uint64_t)from, (uint64_t)to, n, index };
    put(&r, sizeof r);
}

// mov rax, rdi; loop: dec rax; jnz loop; ret
static const unsigned char spin[] = { 0x48, 0x89, 0xf8, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3 };

// turn runs code for a number of turns, and returns the CPU time in ns.
static uint64_t turn(void *code, const char *turns)
{
    uint64_t begin = now(CLOCK_PROCESS_CPUTIME_ID);
    ((uint64_t (*)(uint64_t))code)(strtoull(turns, NULL, 10));
    return now(CLOCK_PROCESS_CPUTIME_ID) - begin;
}

static int with_map(char **argv)
{
    unsigned char *code = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
    FILE *f = fopen(path, "w");
    if (!f)
        return 2;
    uint64_t took[2];
    for (int i = 0; i < 2; i++) {
        unsigned char *at = code + 4096 * i;
        memcpy(at, spin, sizeof spin);
        fprintf(f, "%lx %zx %s\n", (unsigned long)at, sizeof spin, i ? "second_mapped" : "first_mapped");
        fflush(f);
        took[i] = turn(at, argv[2 + i]);
    }
    unlink(path);
    printf("%llu %llu 0\n", (unsigned long long)took[0], (unsigned long long)took[1]);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 2;
    if (!strcmp(argv[1], "map"))
        return with_map(argv);
    char path[4096];
    snprintf(path, sizeof path, "%s/jit-%d.dump", argv[1], getpid());
    if ((fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600)) < 0)
        return 2;
    header();
    if (mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
        return 2;
    unsigned char *code = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t took[3] = { 0 };
    const char *names[] = { "first_made", "second_made" };
    for (int round = 0; round < atoi(argv[5]); round++) {
        for (int i = 0; i < 3; i++) {
            unsigned char *at = code;
            if (i < 2) {
                memcpy(code, spin, sizeof spin);
                load(names[i], code, sizeof spin, i);
            } else { // the second one is at another address
                at = code + 4096;
                memcpy(at, spin, sizeof spin);
                move(code, at, sizeof spin, 1);
            }
            took[i] += turn(at, argv[2 + i]);
        }
    }
    struct { uint32_t id, size; uint64_t time; } end = { 3, sizeof end, now(CLOCK_MONOTONIC) };
    put(&end, sizeof end);
    printf("%llu %llu %llu\n", (unsigned long long)took[0], (unsigned long long)took[1], (unsigned long long)took[2]);
    return 0;
}
