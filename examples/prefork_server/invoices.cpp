#include "invoices.hpp"

#include <fstream>
#include <regex>
#include <stdexcept>

namespace prefork_server {
namespace {

constexpr const char* kHeader = "id,customer,amount,currency";

const std::regex& row_pattern() {
  static const std::regex pattern(
      "([A-Za-z0-9-]{1,24}),([^,\"\r]{1,100}),([0-9]{1,9}\\.[0-9]{2}),([A-Z]{3})");
  return pattern;
}

[[noreturn]] void refuse(const std::string& path, std::size_t line_number, const std::string& reason) {
  throw std::runtime_error(path + ":" + std::to_string(line_number) + ": " + reason);
}

}  // namespace

Invoices load_invoices(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read the invoices: " + path);

  std::string line;
  std::size_t line_number = 1;
  if (!std::getline(file, line) || line != kHeader) {
    refuse(path, line_number, std::string("the first line is not ") + kHeader);
  }
  Invoices invoices;
  while (std::getline(file, line)) {
    ++line_number;
    std::smatch field;
    if (!std::regex_match(line, field, row_pattern())) {
      refuse(path, line_number,
             "not an id, a customer, an amount like 12.50 and a currency like EUR: " + line);
    }
    const bool is_new =
        invoices.try_emplace(field[1], Invoice{field[1], field[2], field[3], field[4]}).second;
    if (!is_new) refuse(path, line_number, "a second invoice " + field[1].str());
  }
  if (file.bad()) throw std::runtime_error("cannot read the invoices: " + path);
  return invoices;
}

}  // namespace prefork_server
