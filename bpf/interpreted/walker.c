//go:build ignore

// The program that finds the frames of an interpreter; doc.go describes its use. late.go does the
// same in user space. Numbers in capitals are constants of walker.go.

#include "kernel.h"

map(config);
map(memory);
map(stacks);
map(ring);
map(fresh);
map(found);
map(next);

// thread_register is the offset in a task of the register that points to the thread's local
// storage.
extern char thread_register[];

// Must match Config in Go.
struct config {
	u64 start, head, first, threads, next_interp, next_thread, thread_id, native, frame, holder, stack;
	u64 code, body, previous, step, instr, owner, mask, size, entry, strings;
};

// A stack as it is stored; must match Stack in Go.
struct stack {
	u64 pid, count, cut;
	struct frame {
		u64 code, instr, check;
	} frames[MAX_FRAMES];
};

// The memory of the program on one CPU.
struct memory {
	struct stack stack;
	u64 samples;               // number of samples of this CPU
	u8 frame[FRAME_ROOM + 8];  // bytes of the interpreter's current frame
	u64 names[3];              // pointers that identify the code object
	u64 busy;                  // 1 while a program uses the memory; a program that interrupts it does nothing
};

struct sample {
	u64 time, id, hash, number;
};

_Static_assert(sizeof(struct config) == CONFIG_SIZE, "Config");
_Static_assert(offset(struct stack, count) == STACK_COUNT && offset(struct stack, cut) == STACK_CUT &&
	offset(struct stack, frames) == STACK_AT && sizeof(struct frame) == FRAME_SIZE, "Stack");
_Static_assert(sizeof(struct stack) == STACK_SIZE && sizeof(struct memory) == MEMORY_SIZE, "maps");
_Static_assert(sizeof(struct sample) == SAMPLE_SIZE, "ring");

// word reads a word of the process at an address.
inline int word(u64 *to, u64 at) { return read_user(to, 8, at) == 0; }

// via stores at, or, if offset is not 0, the pointer at address at + offset - 1. An offset is
// increased by 1, so that 0 means that there is no pointer to follow.
inline int via(u64 *to, u64 at, u64 offset)
{
	*to = at;
	return !offset || word(to, at + offset - 1);
}

// field is a member of the frame in m->frame.
#define field(m, offset, type) (*(type *)((m)->frame + ((offset) & (FRAME_ROOM - 1))))

// find finds the interpreter's state of the running thread, by the address that pthread_self
// returns.
inline int find(const struct config *c, u64 *thread)
{
	u64 self, interp, id;
	if (read_kernel(&self, 8, current_task() + given(thread_register)) || !word(&interp, c->head) || !interp)
		return 0;
	if (!via(&interp, interp, c->first) || !word(thread, interp + c->threads))
		return 0;
	for (int i = 0; i < MAX_THREADS; i++) {
		if (!*thread) {
			if (!word(&interp, interp + c->next_interp) || !interp || !word(thread, interp + c->threads))
				return 0;
			continue;
		}
		if (!via(&id, *thread, c->native) || !word(&id, id + c->thread_id))
			return 0;
		if (id == self)
			return 1;
		if (!word(thread, *thread + c->next_thread))
			return 0;
	}
	return 0;
}

// innermost finds the innermost frame of the running thread, and the end of its frames if they are
// an array.
inline int innermost(const struct config *c, u64 id, u64 *frame, u64 *end)
{
	u64 holder, size;
	if (c->start == WORD_START) // only the main thread has frames
		return id >> 32 == (u32)id && word(frame, c->head);
	if (!find(c, &holder) || !word(&holder, holder + c->frame) || !via(frame, holder, c->holder))
		return 0;
	if (!c->step)
		return 1;
	if (!word(end, holder + c->stack) || !word(&size, holder + c->stack + 8))
		return 0;
	*end += 8 * size - c->step; // the outermost frame runs nothing
	return 1;
}

// called reports whether the frame in m->frame was called from C; -1 if that cannot be read.
inline int called(const struct config *c, struct memory *m)
{
	u64 flags;
	switch (c->entry) {
	case EACH_ENTRY:
		return 1;
	case BITS_ENTRY:
		return (field(m, c->owner, u32) & c->mask) != 0;
	case POINTER_ENTRY:
		return word(&flags, field(m, c->owner, u64)) ? (flags & c->mask) != 0 : -1;
	case FRAMES_ENTRY:
		return field(m, c->owner, u8) >= 3;
	}
	return field(m, c->owner, u8) != 0;
}

// mix adds a number to a hash.
inline u64 mix(u64 hash, u64 v)
{
	hash = (hash ^ v) * HASH_FACTOR;
	return hash ^ hash >> 31;
}

// walk stores the frames from the innermost one outwards, and returns their hash; 0 if there are
// none.
inline u64 walk(const struct config *c, struct memory *m, u64 id)
{
	u64 at, end, code, i, hash = id >> 32;
	if (!innermost(c, id, &at, &end))
		return 0;
	m->stack.pid = id >> 32;
	m->stack.cut = 0;
	for (i = 0; at; i++) {
		u64 size = c->size;
		if (i >= MAX_FRAMES || size > FRAME_ROOM || read_user(m->frame, size, at)) {
			m->stack.cut = 1;
			break;
		}
		if (!c->step)
			at = field(m, c->previous, u64);
		else if ((at += c->step) >= end)
			at = 0;
		u64 instr = field(m, c->instr, u64);
		code = field(m, c->code, u64) & -8; // the lowest bits may be a tag
		if (code && !via(&code, code, c->body))
			return 0;
		int entry = called(c, m);
		if (entry < 0)
			return 0;
		if (entry && c->entry == FRAMES_ENTRY)
			code = instr = 0;
		if (entry)
			instr |= 1ull << ENTRY_BIT;
		m->names[0] = m->names[1] = m->names[2] = 0;
		if (code)
			read_user(m->names, sizeof(m->names), code + c->strings);
		struct frame *f = &m->stack.frames[i];
		f->code = code;
		f->instr = instr;
		f->check = (m->names[0] * HASH_FACTOR ^ m->names[1]) * HASH_FACTOR ^ m->names[2];
		hash = mix(mix(mix(hash, code), instr), f->check);
	}
	m->stack.count = i;
	return i ? hash : 0;
}

// keep stores the stack by its hash, and adds it to fresh if it is new.
inline void keep(struct memory *m, u64 hash)
{
	u64 pid = m->stack.pid;
	if (map_lookup(&stacks, &hash))
		return;
	map_update(&stacks, &hash, m, UPDATE_ANY);
	map_update(&fresh, &hash, &pid, UPDATE_ANY);
}

// sample walks with the memory of the CPU. It stores the hash of the stack in to, or, if to is 0, a
// sample in the CPU's ring.
inline void sample(u64 *to)
{
	u32 index = 0;
	u64 id = pid_tgid(), pid = id >> 32, hash;
	struct config *c = map_lookup(&config, &pid);
	struct memory *m = map_lookup(&memory, &index);
	if (!c || !m || m->busy)
		return;
	m->busy = 1;
	hash = walk(c, m, id);
	if (hash) {
		keep(m, hash);
		if (to) {
			*to = hash;
		} else {
			index = this_cpu() * PER_CPU + (m->samples & (PER_CPU - 1));
			u64 now = time_ns();
			struct sample *s = map_lookup(&ring, &index);
			m->samples++;
			if (s) {
				s->time = now;
				s->id = id;
				s->hash = hash;
				s->number = m->samples;
			}
		}
	}
	m->busy = 0;
}

// beside is attached beside another program, which does not depend on it.
routine int beside(void *context)
{
	sample(0);
	return 1;
}

// front stores the hash of the stack for another program, and calls that program.
routine int front(void *context)
{
	u32 index = 0;
	u64 *hash = map_lookup(&found, &index);
	if (hash) {
		*hash = 0;
		sample(hash);
	}
	tail_call(context, &next, 0);
	return 1;
}
