//go:build ignore

// Routines that walk the user stack of the running task by unwind tables; frames.go describes how
// programs call them. Numbers in capitals are constants of packages load and unwind, and of
// frames.go.

#include "kernel.h"

map(walkprocs);
map(walkranges);
map(walkblocks);
map(walkpages);
map(walkrules);
map(walkask);
map(walkasked);
map(walkstats);

// A stack in a program's memory: the kernel addresses, with room for the largest number, then the
// user addresses.
struct chain {
	u32 process, exec;
	u64 kernel, user; // bytes of addresses
	u64 time, max, interpreted;
	u64 words[];
};

// The state of a process.
struct process {
	u64 ranges; // the process's entries in walkranges: the first, then the number
	u32 exec, unused;
};

// A range of mapped code, see load.WalkRange.
struct range {
	u64 start, length, delta;
	u32 at, blocks;
};

// An unwind rule, see unwind.Rule.
struct rule {
	u8 kind, reg, bp, bx;
	s32 off, add, bp_off, bx_off;
	u32 unused;
};

// Registers of the process as it entered the kernel, struct pt_regs of amd64.
struct registers {
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};

// Registers that are restored when a signal handler returns: uc.uc_mcontext of struct rt_sigframe,
// see arch/x86/include/asm/sigframe.h.
struct context {
	u64 r8, r9, r10, r11, r12, r13, r14, r15, di, si, bp, bx, dx, ax, cx, sp, ip;
};

#define SIGNAL_CONTEXT 40 // offset from the stack pointer at the return of the handler

// FRAME is the number of bytes that are read below a CFA. They nearly always contain the return
// address and all registers that a function saves.
#define FRAME 64

// The state of a walk. The verifier does not track the values in it.
struct walk {
	u64 sp, bp, bx, pc;
	u64 called;   // 1 if pc is a return address, 0 if the code was interrupted there
	u64 n, limit; // bytes of addresses
	u32 first, ranges; // of the process
	u64 stop;          // load.WalkStop
	u64 by;            // number of frames found by frame pointers
	u64 others;        // 1 while r10 and r12 to r15 have the values of the current frame
	u64 r10, r12, r13, r14, r15;
	struct range range; // copy of the current range
	volatile u64 index; // of a range or row: the verifier would explore each known value separately
	union {             // data read from the stack
		u8 bytes[FRAME];
		u64 words[FRAME / 8];
		struct context context;
	} read;
};

// A turn has the arguments of the loop, on the stack of the program.
struct turn {
	struct walk *walk;
	u8 *words;
	u64 room; // bytes of room in words
};

_Static_assert(offset(struct chain, process) == CHAIN_TASK && offset(struct chain, kernel) == CHAIN_KERNEL &&
	offset(struct chain, user) == CHAIN_USER && offset(struct chain, max) == CHAIN_MAX &&
	offset(struct chain, interpreted) == CHAIN_INTERPRETED && offset(struct chain, words) == CHAIN_WORDS,
	"load.Chain");
_Static_assert(sizeof(struct process) == PROC_SIZE && offset(struct process, ranges) == PROC_AT &&
	offset(struct process, exec) == PROC_EXEC, "load.WalkProc");
_Static_assert(sizeof(struct range) == RANGE_SIZE && offset(struct range, start) == RANGE_START &&
	offset(struct range, length) == RANGE_LEN && offset(struct range, delta) == RANGE_DELTA &&
	offset(struct range, at) == RANGE_AT && offset(struct range, blocks) == RANGE_BLOCKS, "load.WalkRange");
_Static_assert(sizeof(struct rule) == RULE_SIZE && offset(struct rule, kind) == RULE_KIND &&
	offset(struct rule, reg) == RULE_REG && offset(struct rule, bp) == RULE_BP &&
	offset(struct rule, bx) == RULE_BX && offset(struct rule, off) == RULE_OFF &&
	offset(struct rule, add) == RULE_ADD && offset(struct rule, bp_off) == RULE_BP_OFF &&
	offset(struct rule, bx_off) == RULE_BX_OFF, "unwind.Rule");
_Static_assert(sizeof(struct walk) == STATE_SIZE && offset(struct walk, n) == STATE_N &&
	offset(struct walk, stop) == STATE_STOP && offset(struct walk, others) == STATE_OTHERS, "frames.go");

// The result of a turn: a load.WalkStop, which ends the walk, or one of these.
enum { ON = -1, BY_FRAME_POINTER = -2, SWITCHES = -3 };

// within reports whether the current range contains an address.
inline int within(struct walk *w, u64 pc) { return pc - w->range.start < w->range.length; }

// find_range makes the range of an address the current one. Usually it already is.
inline int find_range(struct walk *w, u64 pc)
{
	u32 key;
	struct range *r;
	if (within(w, pc))
		return 1;
	w->index = 0;
#pragma clang loop unroll(full)
	for (u32 step = MOST_RANGES / 2; step; step /= 2) {
		u32 next = w->index + step;
		if (next >= w->ranges)
			continue;
		key = w->first + next;
		r = map_lookup(&walkranges, &key);
		if (r && r->start <= pc)
			w->index = next;
	}
	if (!w->ranges)
		return 0;
	key = w->first + w->index;
	r = map_lookup(&walkranges, &key);
	if (!r)
		return 0;
	w->range = *r;
	if (within(w, pc))
		return 1;
	w->range.length = 0;
	return 0;
}

// find_rule finds the rule of an address in the current range; 0 if there are no tables.
inline struct rule *find_rule(struct walk *w, u64 pc)
{
	u64 at = pc - w->range.delta, end;
	u32 key, page, *rows;
	void *chunk;
	if (at >> BLOCK_BITS >= w->range.blocks)
		return 0;
	key = w->range.at + (at >> BLOCK_BITS);
	u64 *block = map_lookup(&walkblocks, &key);
	if (!block || !(*block >> COUNT_SHIFT))
		return 0;
	w->index = *block >> FIRST_SHIFT & (PAGE_ROWS - 1);
	end = w->index + (*block >> COUNT_SHIFT);
	page = *block;
	key = page >> CHUNK_BITS;
	chunk = map_lookup(&walkpages, &key);
	if (!chunk)
		return 0;
	key = page & ((1 << CHUNK_BITS) - 1);
	rows = map_lookup(chunk, &key);
	if (!rows)
		return 0;
	at &= (1 << BLOCK_BITS) - 1;
#pragma clang loop unroll(full)
	for (u64 step = PAGE_ROWS / 2; step; step /= 2) {
		u64 next = w->index + step;
		if (next < end && (rows[next & (PAGE_ROWS - 1)] & ((1 << BLOCK_BITS) - 1)) <= at)
			w->index = next;
	}
	key = rows[w->index & (PAGE_ROWS - 1)] >> BLOCK_BITS;
	return map_lookup(&walkrules, &key);
}

// base reads the register that the CFA is relative to.
inline int base(struct walk *w, u8 reg, u64 *value)
{
	switch (reg) {
	case REG_SP: *value = w->sp; return 1;
	case REG_BP: *value = w->bp; return 1;
	case REG_BX: *value = w->bx; return 1;
	}
	if (!w->others)
		return 0;
	switch (reg) {
	case 10: *value = w->r10; return 1;
	case 12: *value = w->r12; return 1;
	case 13: *value = w->r13; return 1;
	case 14: *value = w->r14; return 1;
	case 15: *value = w->r15; return 1;
	}
	return 0;
}

// saved returns the caller's value of a register. If it cannot be read, it is unchanged: in the
// middle of an epilogue it is already restored.
inline u64 saved(struct walk *w, int whole, u64 cfa, u8 how, s64 off, u64 now)
{
	u64 value, at = off + FRAME;
	if (how == AT_CFA) {
		if (whole && at <= FRAME - 8)
			return *(u64 *)(w->read.bytes + at);
		at = cfa + off;
	} else if (how == AT_BP) {
		at = w->bp + off;
	} else {
		return now;
	}
	return read_user(&value, 8, at) ? now : value;
}

// caller moves to the caller of a function, whose CFA is given.
inline int caller(struct walk *w, struct rule *r, u64 cfa)
{
	u64 bp, bx, *back = &w->read.words[FRAME / 8 - 1];
	int whole = 1;
	if (cfa <= w->sp)
		return BAD;
	if (read_user(w->read.bytes, FRAME, cfa - FRAME)) {
		whole = 0;
		if (read_user(back, 8, cfa - 8))
			return BAD;
	}
	if (!*back)
		return END;
	bp = saved(w, whole, cfa, r->bp, r->bp_off, w->bp);
	bx = saved(w, whole, cfa, r->bx, r->bx_off, w->bx);
	w->bp = bp;
	w->bx = bx;
	w->pc = *back;
	w->sp = cfa;
	w->called = 1;
	w->others = 0;
	return ON;
}

// by_signal moves from the return of a signal handler to the code that the signal interrupted.
inline int by_signal(struct walk *w)
{
	struct context *c = &w->read.context;
	if (read_user(c, sizeof(*c), w->sp + SIGNAL_CONTEXT))
		return BAD;
	w->r10 = c->r10;
	w->r12 = c->r12;
	w->r13 = c->r13;
	w->r14 = c->r14;
	w->r15 = c->r15;
	w->bp = c->bp;
	w->bx = c->bx;
	w->sp = c->sp;
	w->pc = c->ip;
	w->called = 0;
	w->others = 1;
	return w->pc ? ON : END;
}

// by_table moves to the caller by the rule of an address.
inline int by_table(struct walk *w, u64 pc)
{
	if (!find_range(w, pc))
		return NO_CODE;
	struct rule *r = find_rule(w, pc);
	if (!r)
		return BY_FRAME_POINTER;
	u64 cfa;
	switch (r->kind) {
	case BY_POINTER:
		return BY_FRAME_POINTER;
	case BY_SIGNAL:
		return by_signal(w);
	case BY_SWITCH:
		return SWITCHES;
	case IS_END:
		return END;
	case BY_PLT:
		cfa = w->sp + 8;
		if ((w->pc & 15) >= (u64)(s64)r->add)
			cfa += 8;
		return caller(w, r, cfa);
	case BY_STUB:
		if (w->called)
			return BY_FRAME_POINTER;
	case BY_REGISTER:
	case BY_MEMORY:
		break;
	default:
		return COMPLEX;
	}
	if (!base(w, r->reg, &cfa))
		return COMPLEX;
	cfa += (s64)r->off;
	if (r->kind == BY_MEMORY) {
		if (read_user(&cfa, 8, cfa))
			return BAD;
		cfa += (s64)r->add;
	}
	return caller(w, r, cfa);
}

// by_pointer moves to the caller by the frame pointer. It points to a pair of addresses higher up
// the stack, or, in functions that switch stacks, anywhere.
inline int by_pointer(struct walk *w, int anywhere)
{
	u64 bp = w->bp, *pair = w->read.words;
	if (!anywhere && (bp < w->sp || bp - w->sp >= MAX_FRAME || bp & 7))
		return NO_TABLE;
	if (read_user(pair, 16, bp))
		return NO_TABLE;
	if (!pair[1])
		return END;
	if (!anywhere && pair[0] && pair[0] <= bp)
		return NO_TABLE;
	w->bp = pair[0];
	w->pc = pair[1];
	w->sp = bp + 16;
	w->called = 1;
	w->others = 0;
	w->by++;
	return ON;
}

// walk_frame is one turn of the loop: it writes an address and moves to its caller.
routine long walk_frame(u64 number, struct turn *t)
{
	struct walk *w = t->walk;
	u64 n = w->n, pc = w->pc;
	int next = DEEP;
	if (n < w->limit && n < t->room) {
		*(u64 *)(t->words + n) = pc;
		w->n = n + 8;
		// A return address may be after the end of its function.
		next = by_table(w, pc - w->called);
		if (next == BY_FRAME_POINTER || next == SWITCHES)
			next = by_pointer(w, next == SWITCHES);
		if (next == ON)
			return 0;
	}
	w->stop = next;
	return 1;
}

// count adds to a counter.
inline void count(int stat, u64 n)
{
	u32 key = 0;
	u64 *stats = map_lookup(&walkstats, &key);
	if (stats)
		stats[stat] += n;
}

// ask requests the tables of the process, unless it did so a short time ago.
inline void ask(struct chain *s)
{
	struct {
		u32 process, exec;
	} question = {s->process, s->exec};
	u64 now = time_ns(), again = now + AGAIN;
	u64 *due = map_lookup(&walkasked, &question.process);
	if (due) {
		if (now < *due)
			return;
		*due = again;
	} else {
		map_update(&walkasked, &question.process, &again, UPDATE_ANY);
	}
	ringbuf_output(&walkask, &question, sizeof(question), 0);
}

// walk_begin begins a walk of up to limit bytes of addresses, with the registers that the task had
// when it entered the kernel or was interrupted. It returns 1 if the program must use frame
// pointers instead: there are no tables of the process, or it is no 64-bit process.
routine long walk_begin(struct chain *s, struct walk *w, u64 limit)
{
	struct registers *r = task_registers(current_task_btf());
	if ((u16)r->cs != USER_CS)
		return 1;
	w->sp = r->sp;
	w->bp = r->bp;
	w->bx = r->bx;
	w->pc = r->ip;
	w->r10 = r->r10;
	w->r12 = r->r12;
	w->r13 = r->r13;
	w->r14 = r->r14;
	w->r15 = r->r15;
	w->called = w->n = w->range.length = w->by = 0;
	w->others = 1;
	w->stop = DEEP;
	w->limit = limit;
	u32 exec = s->exec + 1;
	struct process *p = map_lookup(&walkprocs, &s->process);
	if (!p || p->exec && p->exec != exec) { // it has executed another program since
		ask(s);
		count(UNKNOWN, 1);
		return 1;
	}
	if (!p->exec)
		p->exec = exec;
	*(u64 *)&w->first = p->ranges;
	return 0;
}

// walk_end counts how a walk ended, and stores the number of addresses that it found. It returns 1
// if the program must use frame pointers, since there are no tables for the code where the task was
// interrupted.
routine long walk_end(struct chain *s, struct walk *w, u64 most)
{
	u32 key = 0;
	if (w->stop == NO_CODE) {
		ask(s);
		if (w->n <= 8) {
			count(UNKNOWN, 1);
			return 1;
		}
		w->n -= 8; // the last address is not in code
	}
	u64 *stats = map_lookup(&walkstats, &key), stop = w->stop;
	if (stats) {
		stats[POINTERS] += w->by;
		stats[FRAMES] += w->n / 8;
		if (stop <= COMPLEX)
			stats[stop]++;
	}
	s->user = w->n;
	s->max = most | CHAIN_UNWOUND | (stop == END ? 0 : CHAIN_CUT);
	return 0;
}

// Two hashes of a stack: a polynomial of its words, and a hash of xored words, whose high bits are
// mixed into the low ones at each step.
struct hash {
	u64 sum, mixed;
};

inline void mix(struct hash *h, u64 v)
{
	h->sum = (h->sum + v) * 0x9e3779b97f4a7c15;       // 2^64 / golden ratio, odd
	h->mixed = (h->mixed ^ v) * 0xc2b2ae3d27d4eb4f; // a prime
	h->mixed ^= h->mixed >> 29;
}

// mix_words adds words up to size bytes, and at most room words.
inline void mix_words(struct hash *h, u64 *words, u64 room, u64 size)
{
	for (u64 i = 0; i < room && 8 * i < size; i++)
		mix(h, words[i]);
}

// walk_hash stores the hash of a stack in to; it is 0 for an empty stack.
routine long walk_hash(struct chain *s, u64 kernel_room, u64 user_room, struct hash *to)
{
	struct hash h = {};
	if (s->kernel | s->user) {
		mix(&h, *(u64 *)&s->process);
		mix(&h, s->kernel);
		mix(&h, s->user);
		mix(&h, s->interpreted);
		mix_words(&h, s->words, kernel_room, s->kernel);
		mix_words(&h, s->words + kernel_room, user_room, s->user);
	}
	*to = h;
	return 0;
}
