/* A copy that faults returns: the handler has the thread go on in rs_guard_copy(), which gives up.
 */
#include "live/guard.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#if defined(__x86_64__) || defined(__aarch64__)
#define RESUMES 1
#else
#define RESUMES 0
#endif

enum { RED_ZONE = 128, STACK_ALIGN = 16 };

static const int signals[] = {SIGBUS, SIGSEGV};
static struct sigaction before[sizeof(signals) / sizeof(signals[0])];

/* Where the copy that is under way gives up; NULL: none is. */
static __thread void **volatile way_out __attribute__((tls_model("initial-exec")));

#if RESUMES
/* Runs on the thread's own stack, behind what it had there, once the handler has returned. */
__attribute__((noreturn, no_sanitize("thread", "address"))) static void give_up(void)
{
	void **to = way_out;

	way_out = NULL;
	__builtin_longjmp(to, 1);
}

/* As a call would: that is what a function finds the stack like. */
static void go_on_in(ucontext_t *u, void (*fn)(void))
{
#ifdef __x86_64__
	greg_t *r = u->uc_mcontext.gregs;

	r[REG_RSP] =
		((r[REG_RSP] - RED_ZONE) & ~(greg_t)(STACK_ALIGN - 1)) - (greg_t)sizeof(void *);
	r[REG_RIP] = (greg_t)(uintptr_t)fn;
#else
	u->uc_mcontext.sp &= ~(uintptr_t)(STACK_ALIGN - 1);
	u->uc_mcontext.pc = (uintptr_t)fn;
#endif
}

/* The instruction faults once more, or the signal comes once more, and that kills. */
static void kill_self(int sig, const siginfo_t *info)
{
	struct sigaction kill = {.sa_handler = SIG_DFL};

	sigaction(sig, &kill, NULL);
	if (info->si_code <= 0)
		raise(sig);
}

/* To the handler that was there. */
static void pass_on(int sig, siginfo_t *info, void *context)
{
	const struct sigaction *old = &before[sig == SIGBUS ? 0 : 1];

	if (old->sa_flags & SA_SIGINFO)
		old->sa_sigaction(sig, info, context);
	else if (old->sa_handler == SIG_DFL || (old->sa_handler == SIG_IGN && info->si_code > 0))
		kill_self(sig, info);
	else if (old->sa_handler != SIG_IGN)
		old->sa_handler(sig);
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	/* a positive code is the processor's: not one that a process sent */
	if (way_out && info->si_code > 0)
		go_on_in(context, give_up);
	else
		pass_on(sig, info, context);
}

static void install(void)
{
	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction mine = {.sa_sigaction = on_fault};

		sigaction(signals[i], NULL, &before[i]);
		/* the stack that the program gave it, and what it has blocked meanwhile */
		mine.sa_flags = SA_SIGINFO | (before[i].sa_flags & (SA_ONSTACK | SA_NODEFER));
		mine.sa_mask = before[i].sa_mask;
		sigaction(signals[i], &mine, NULL);
	}
}
#else
static void install(void)
{
}
#endif

void rs_guard_open(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, install);
}

void rs_guard_allow(sigset_t *blocked)
{
	for (unsigned i = 0; RESUMES && i < sizeof(signals) / sizeof(signals[0]); i++)
		sigdelset(blocked, signals[i]);
}

typedef void act_fn(void *to, const void *from, size_t n);

static void copy(void *to, const void *from, size_t n)
{
	if (n == sizeof(uint64_t) && !(((uintptr_t)to | (uintptr_t)from) % sizeof(uint64_t)))
		__atomic_store_n((uint64_t *)to, *(const uint64_t *)from, __ATOMIC_RELEASE);
	else
		memcpy(to, from, n);
}

static void touch(void *to, const void *from, size_t n)
{
	const volatile uint8_t *at = from;

	for (size_t i = 0; i < n; i += RS_GUARD_PAGE)
		(void)at[i];
	if (n)
		(void)at[n - 1];
}

/* A compiler knows that a call may not return, and must not see whom it is to. */
__attribute__((noinline)) static bool guarded(act_fn *fn, void *to, const void *from, size_t n)
{
	act_fn *volatile act = fn;
	void *here[5];

	if (RESUMES && __builtin_setjmp(here))
		return false;
	way_out = here;
	act(to, from, n);
	way_out = NULL;
	return true;
}

bool rs_guard_copy(void *to, const void *from, size_t n)
{
	return guarded(copy, to, from, n);
}

struct swap {
	uint64_t expected, next;
	bool done;
};

static void swap(void *to, const void *from, size_t n)
{
	struct swap *s = (struct swap *)(uintptr_t)from;

	(void)n;
	s->done = __atomic_compare_exchange_n((uint64_t *)to, &s->expected, s->next, false,
					      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

bool rs_guard_swap(uint64_t *at, uint64_t *expected, uint64_t next, bool *done)
{
	struct swap s = {.expected = *expected, .next = next};

	if (!guarded(swap, at, &s, sizeof(*at)))
		return false;
	*expected = s.expected;
	*done = s.done;
	return true;
}

bool rs_guard_reads(const void *from, size_t n)
{
	return guarded(touch, NULL, from, n);
}
