/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/otlp/otlp_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/printable.h"

static void set_text(Krait__Otlp__AnyValue *value, char *text)
{
	krait__otlp__any_value__init(value);
	value->value_case = KRAIT__OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	value->string_value = text;
}

static int fill_array(struct otlp_value_room *room, const struct otlp_attribute *a)
{
	room->items = calloc((size_t)a->text_cnt + 1, sizeof(*room->items));
	room->item_list = calloc((size_t)a->text_cnt + 1, sizeof(*room->item_list));
	if (!room->items || !room->item_list)
		return -ENOMEM;
	krait__otlp__array_value__init(&room->array);
	for (unsigned i = 0; i < a->text_cnt; i++) {
		set_text(&room->items[i], printable(a->texts[i]));
		room->item_list[i] = &room->items[i];
		room->array.n_values++;
		if (!room->items[i].string_value)
			return -ENOMEM;
	}
	room->array.values = room->item_list;
	room->value.value_case = KRAIT__OTLP__ANY_VALUE__VALUE_ARRAY_VALUE;
	room->value.array_value = &room->array;
	return 0;
}

int otlp_value_fill(struct otlp_value_room *room, const struct otlp_attribute *a)
{
	Krait__Otlp__AnyValue *v = &room->value;

	memset(room, 0, sizeof(*room));
	krait__otlp__any_value__init(v);
	switch (a->kind) {
	case OTLP_TEXT:
		set_text(v, printable(a->text));
		return v->string_value ? 0 : -ENOMEM;
	case OTLP_NUMBER:
		v->value_case = KRAIT__OTLP__ANY_VALUE__VALUE_INT_VALUE;
		v->int_value = a->number;
		return 0;
	case OTLP_FRACTION:
		v->value_case = KRAIT__OTLP__ANY_VALUE__VALUE_DOUBLE_VALUE;
		v->double_value = a->fraction;
		return 0;
	case OTLP_TRUTH:
		v->value_case = KRAIT__OTLP__ANY_VALUE__VALUE_BOOL_VALUE;
		v->bool_value = a->number != 0;
		return 0;
	case OTLP_TEXTS:
		return fill_array(room, a);
	}
	return -EINVAL;
}

void otlp_value_free(struct otlp_value_room *room)
{
	if (room->value.value_case == KRAIT__OTLP__ANY_VALUE__VALUE_STRING_VALUE)
		free(room->value.string_value);
	for (size_t i = 0; room->items && i < room->array.n_values; i++)
		free(room->items[i].string_value);
	free(room->items);
	free(room->item_list);
	memset(room, 0, sizeof(*room));
}
