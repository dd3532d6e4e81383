// Declarations for routines in C: the kernel's types, and its helpers by their numbers in
// uapi/linux/bpf.h. Object of this package reads the object files that clang compiles from
// routines.
#ifndef PPSCRIPT_KERNEL_H
#define PPSCRIPT_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define inline static __attribute__((always_inline)) inline

// A routine is a function that programs call, or a whole program.
#define routine __attribute__((section("routine"), used))

// A map, or a number that is set when the routine is loaded, is an undefined symbol of the object.
#define map(name) extern char name[]
#define given(symbol) ((u64)(symbol))

#define offset(type, member) __builtin_offsetof(type, member)

// hide prevents optimizations based on a number's value, so that clang keeps a check of the number
// where the verifier needs it.
#define hide(number) asm volatile("" : "+r"(number))

static void *(*const map_lookup)(const void *map, const void *key) = (void *)1;
static long (*const map_update)(const void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*const map_delete)(const void *map, const void *key) = (void *)3;
static u64 (*const time_ns)(void) = (void *)5;
static u32 (*const this_cpu)(void) = (void *)8;
static long (*const tail_call)(void *context, const void *programs, u32 index) = (void *)12;
static u64 (*const pid_tgid)(void) = (void *)14;
static u64 (*const current_task)(void) = (void *)35;
static long (*const read_user)(void *to, u64 size, u64 from) = (void *)112;
static long (*const read_kernel)(void *to, u64 size, u64 from) = (void *)113;
static long (*const read_kernel_text)(void *to, u64 size, const void *from) = (void *)115;
static long (*const ringbuf_output)(const void *ringbuf, void *data, u64 size, u64 flags) = (void *)130;
static void *(*const current_task_btf)(void) = (void *)158;
static void *(*const task_registers)(void *task) = (void *)175;

enum { UPDATE_ANY = 0, UPDATE_NOEXIST = 1 }; // flags of map_update

#endif
