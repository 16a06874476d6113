#include "app/commands/kv_command.h"

#include <nlohmann/json.hpp>

#include "app/heads/kv_heads.h"
#include "app/json/json.h"
#include "app/words/field_setter.h"

namespace attoscope {

void kv(const HeadsArguments& x, std::ostream& out, std::ostream* terminal) {
  const std::size_t by = kv_storage(x.sort);
  const std::size_t top = whole_number("--top", x.top, std::size_t{0}, std::size_t{1} << 20);
  const HeadsJob job = heads_job(x);
  std::vector<KvRow> rows;
  run_heads(job, x, terminal, [&](const Options& options, const std::function<void()>& done) {
    compute_kv_heads(job.question, job.files, options, [&](const KvRow& row) {
      rows.push_back(row);
      done();
    });
  });
  sort_worst_first(rows, by);
  write_tables(x,
               {[&] { return csv_text(kv_table(rows, job.files)); }, [&] { return json_text(kv_json(rows, job.files)); },
                [&] { return kv_report(rows, job.files, by, top); }},
               out);
}

}  // namespace attoscope
