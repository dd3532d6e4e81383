//go:build ignore

// The routine that keeps a long text; longtext.go tells what it is for. Numbers in capitals are constants of
// Go.

#include "kernel.h"

map(longtexts);
map(longcount);

// A text as the map has it, with zeros behind its end; then its length. The length is read from memory at each
// turn of a loop: the verifier knows nothing of it, and follows the loop once, not once for each length.
struct text {
	union {
		u8 bytes[LONG_LENGTH_AT];
		u64 words[LONG_LENGTH_AT / 8];
	};
	volatile u64 length; // with the NUL
};

// What the place of a text has of a long one.
struct place {
	u64 front[LONG_FRONT / 8], hash[2];
	u64 length; // without the NUL; its highest byte is the mark
};

_Static_assert(sizeof(struct text) == LONG_MEMORY && offset(struct text, length) == LONG_LENGTH_AT, "longtext.go");
_Static_assert(sizeof(struct place) == LONG_ROOM && offset(struct place, hash) == LONG_HASH &&
	offset(struct place, length) == LONG_LENGTH && sizeof(((struct place *)0)->hash) == LONG_KEY, "sent.LongRoom");

// TURNS is how many words a text has at most.
#define TURNS (LONG_MOST / 8)

inline u64 mix(u64 hash, u64 word, u64 prime, int down)
{
	hash = (hash ^ word) * prime;
	return hash ^ hash >> down;
}

// hash_text leaves two polynomials of the words, whose high bits come down at each step.
inline void hash_text(struct text *t, u64 *hash)
{
	u64 a = 0, b = 0;
	for (u64 i = 0; i < TURNS && 8 * i < t->length; i++) {
		a = mix(a, t->words[i], 0x5bd1e995, 29);
		b = mix(b, t->words[i], 0x7feb352d, 31);
	}
	hash[0] = a;
	hash[1] = b;
}

// same_text compares the words of a text.
inline int same_text(struct text *t, struct text *other)
{
	for (u64 i = 0; i < TURNS && 8 * i < t->length; i++)
		if (t->words[i] != other->words[i])
			return 0;
	return 1;
}

// store_text stores a text under its hash. It fails if another text has the hash, or if the map is full.
inline int store_text(struct text *t, u64 *hash)
{
	u32 key = 0;
	u64 *count;
	struct text *kept = map_lookup(&longtexts, hash);
	if (kept)
		return same_text(t, kept);
	if ((s32)map_update(&longtexts, hash, t, UPDATE_NOEXIST)) {
		kept = map_lookup(&longtexts, hash); // another CPU was faster
		return kept && same_text(t, kept);
	}
	count = map_lookup(&longcount, &key);
	if (count)
		__sync_fetch_and_add(count, 1);
	return 1;
}

// keep_text stores the text at an address of the kernel and writes its beginning, hash and length to a place.
// It returns the length with the NUL; 0 or less is that the text cannot be stored.
routine long keep_text(struct text *t, const void *from, struct place *to)
{
	u64 hash[2];
	s64 n = read_kernel_text(t->bytes, LONG_MOST + 1, from);
	if (n <= 0)
		return n;
	hide(n);
	if (n > LONG_MOST)
		return 0;
	if (n <= LONG_ROOM) { // the record gave a greater length than the text has
		*to = (struct place){};
		return read_kernel_text(to, LONG_ROOM, from);
	}
	t->length = n;
	*(u64 *)(t->bytes + n) = 0;
	hash_text(t, hash);
	if (!store_text(t, hash))
		return 0;
	for (int i = 0; i < LONG_FRONT / 8; i++)
		to->front[i] = t->words[i];
	to->hash[0] = hash[0];
	to->hash[1] = hash[1];
	n = t->length;
	to->length = (n - 1) | 1ull << 56;
	return n;
}
