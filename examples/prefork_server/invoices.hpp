// What may be charged.
#pragma once

#include <string>
#include <unordered_map>

namespace prefork_server {

struct Invoice {
  std::string id;
  std::string customer;
  std::string amount;  // as it was written: money is not a floating-point number
  std::string currency;
};

using Invoices = std::unordered_map<std::string, Invoice>;  // by id

// Reads a CSV file without quotes whose first line is id,customer,amount,currency.
// Throws std::runtime_error, with the number of the line, at the first one that is not as it should be.
Invoices load_invoices(const std::string& path);

}  // namespace prefork_server
