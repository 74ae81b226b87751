/* ACKs that wait for data: of which programs? */
#include "window/answers.h"

void rs_answers_init(struct rs_answers *a, const struct rs_answers_tuning *tuning)
{
	*a = (struct rs_answers){.tuning = *tuning};
}

bool rs_answers_wait(const struct rs_answers *a)
{
	return a->in_a_row >= a->tuning.least && !a->alone;
}

void rs_answers_alone(struct rs_answers *a, rs_time now)
{
	if (a->alone)
		a->in_a_row = 0;
	a->alone = now;
}

void rs_answers_data(struct rs_answers *a, bool acks, rs_time now)
{
	bool answer = acks || (a->alone && now - a->alone < a->tuning.within);

	if (answer && a->in_a_row < a->tuning.least)
		a->in_a_row++;
	a->alone = 0;
}
