// What a program in C does for the values of a query: it copies each row into a struct.
#pragma once

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  sqlite3_int64 number;
  char *customer, *street, *city;
  // An exact decimal number: units of 10^-scale.
  sqlite3_int64 units;
  int scale;
  double tax, due, paid;
  _Bool is_paid, is_sent;
  // JSON.
  char *tags;
} c_invoice;

static inline char *c_invoice_text(sqlite3_stmt *row, int column) {
  int count = sqlite3_column_bytes(row, column);
  char *copy = (char *)malloc((size_t)count + 1);
  if (copy) memcpy(copy, sqlite3_column_text(row, column), (size_t)count + 1);
  return copy;
}

/// Reads all rows of a statement with the columns of c_invoice, at most `limit`, and frees them again.
/// Returns their number; -1 after a failure.
static inline sqlite3_int64 c_invoices_read(sqlite3_stmt *row, sqlite3_int64 limit) {
  c_invoice *all = (c_invoice *)malloc((size_t)limit * sizeof(c_invoice));
  if (!all) return -1;
  sqlite3_int64 count = 0;
  int result = SQLITE_ROW;
  while (count < limit && (result = sqlite3_step(row)) == SQLITE_ROW) {
    c_invoice *next = all + count++;
    next->number = sqlite3_column_int64(row, 0);
    next->customer = c_invoice_text(row, 1);
    next->street = c_invoice_text(row, 2);
    next->city = c_invoice_text(row, 3);
    const char *amount = (const char *)sqlite3_column_text(row, 4);
    char *end = 0;
    next->units = strtoll(amount, &end, 10);
    next->scale = 0;
    for (const char *digit = *end == '.' ? end + 1 : end; *digit; digit++, next->scale++)
      next->units = next->units * 10 + (next->units < 0 ? '0' - *digit : *digit - '0');
    next->tax = sqlite3_column_double(row, 5);
    next->due = sqlite3_column_double(row, 6);
    next->is_paid = sqlite3_column_type(row, 7) != SQLITE_NULL;
    next->paid = sqlite3_column_double(row, 7);
    next->is_sent = sqlite3_column_int(row, 8) != 0;
    next->tags = c_invoice_text(row, 9);
  }
  sqlite3_reset(row);
  for (sqlite3_int64 index = 0; index < count; index++) {
    free(all[index].customer);
    free(all[index].street);
    free(all[index].city);
    free(all[index].tags);
  }
  free(all);
  return result == SQLITE_ROW || result == SQLITE_DONE ? count : -1;
}
