/* For each of several locks at different kinds of addresses, two threads take it and hold it for 20 ms. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct lock {
	long before[2];
	pthread_mutex_t lock;
};

#ifdef LIBRARY
struct lock library_lock = {{1}, PTHREAD_MUTEX_INITIALIZER};
#else
static struct {
	long before;
	pthread_mutex_t lock;
} shared = {1, PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t zero;

static void *want(void *lock)
{
	for (int i = 0; i < 8; i++) {
		pthread_mutex_lock(lock);
		usleep(20000);
		pthread_mutex_unlock(lock);
		usleep(200);
	}
	return NULL;
}

pthread_mutex_t *library(void);

int main(void)
{
	pthread_mutex_t *heap = malloc(sizeof *heap), stack = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_t *all[] = {&shared.lock, &zero, heap, &stack, library()};
	enum { LOCKS = sizeof all / sizeof *all };
	pthread_t threads[2 * LOCKS];

	pthread_mutex_init(heap, NULL);
	for (int i = 0; i < 2 * LOCKS; i++)
		pthread_create(&threads[i], NULL, want, all[i / 2]);
	for (int i = 0; i < 2 * LOCKS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
#endif

#ifdef LIBRARY
pthread_mutex_t *library(void) { return &library_lock.lock; }
#endif
