// Which request does what.
//   POST /charge/ID    201 charged, 200 already charged, 409 somebody else is charging it
//   GET /invoices/ID   the invoice, and whether it was charged
//   GET /healthz       the worker that answers
#pragma once

#include <string>

#include "charge.hpp"
#include "http_server.hpp"
#include "invoices.hpp"
#include "ledger.hpp"

namespace prefork_server {

class Routes {
 public:
  // Both outlive this object.
  Routes(const Invoices& invoices, Ledger& ledger, const ChargeTimes& times)
      : invoices_(invoices), ledger_(ledger), times_(times) {}

  Response answer(const Request& request);

 private:
  Response route(const Request& request);
  Response charge_invoice(const Invoice& invoice);
  Response show_invoice(const Invoice& invoice);

  const Invoices& invoices_;
  Ledger& ledger_;
  ChargeTimes times_;
};

}  // namespace prefork_server
