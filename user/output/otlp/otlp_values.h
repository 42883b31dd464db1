/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * otlp_values.h - an attribute's value in protobuf form.
 */
#ifndef KRAIT_OUTPUT_OTLP_OTLP_VALUES_H
#define KRAIT_OUTPUT_OTLP_OTLP_VALUES_H

#include "output/otlp/otlp.h"
#include "output/otlp/otlp.pb-c.h"

/* A value, with room for the array that it may point to. */
struct otlp_value_room {
	Krait__Otlp__AnyValue value;
	Krait__Otlp__ArrayValue array;
	Krait__Otlp__AnyValue *items, **item_list;
};
/* Returns 0 or -ENOMEM; must be freed in either case. */
int otlp_value_fill(struct otlp_value_room *room, const struct otlp_attribute *a)
	__attribute__((warn_unused_result));
void otlp_value_free(struct otlp_value_room *room);

#endif /* KRAIT_OUTPUT_OTLP_OTLP_VALUES_H */
