#include "headscope/organize/paraproduct.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "headscope/tree/tree_agreement.h"

namespace headscope {
namespace {

// Sums over the folders of every level of one axis, [level](folder, ...), of a matrix with elements as rows.
std::vector<DoubleMatrix> row_sums(const DoubleMatrix& values, const PartitionTree& tree) {
  std::vector<DoubleMatrix> sums(tree.level_count());
  for (std::size_t level = 0; level < sums.size(); ++level) {
    const auto folders = tree.folders(level);
    sums[level] = DoubleMatrix(folders.size(), values.columns());
    parallel_for(folders.size(), [&](std::size_t f) {
      const auto out = sums[level].row(f);
      for (const std::size_t element : tree.elements(folders[f])) {
        const auto row = values.row(element);
        for (std::size_t c = 0; c < row.size(); ++c) out[c] += row[c];
      }
    });
  }
  return sums;
}

DoubleMatrix transposed(const DoubleMatrix& matrix) {
  DoubleMatrix result(matrix.columns(), matrix.rows());
  for (std::size_t i = 0; i < matrix.rows(); ++i) {
    for (std::size_t j = 0; j < matrix.columns(); ++j) result(j, i) = matrix(i, j);
  }
  return result;
}

// sums[j][k](row folder, column folder) over folders of level j and level k.
std::vector<std::vector<DoubleMatrix>> folder_sums(const DoubleMatrix& values, const PartitionTree& rows,
                                                   const PartitionTree& columns) {
  std::vector<std::vector<DoubleMatrix>> sums(rows.level_count());
  const std::vector<DoubleMatrix> by_rows = row_sums(values, rows);
  for (std::size_t j = 0; j < sums.size(); ++j) {
    for (const DoubleMatrix& both : row_sums(transposed(by_rows[j]), columns)) sums[j].push_back(transposed(both));
  }
  return sums;
}

// means[j][k](row folder, column folder) = P_jk f, over present entries; 0 if there are none.
std::vector<std::vector<DoubleMatrix>> folder_means(const DoubleMatrix& f, std::span<const std::uint8_t> present,
                                                    const PartitionTree& rows, const PartitionTree& columns) {
  DoubleMatrix kept = f;
  DoubleMatrix ones(f.rows(), f.columns());
  for (std::size_t i = 0; i < f.values().size(); ++i) {
    const bool counts = present.empty() || present[i] != 0;
    ones.values()[i] = counts ? 1 : 0;
    if (!counts) kept.values()[i] = 0;
  }
  std::vector<std::vector<DoubleMatrix>> means = folder_sums(kept, rows, columns);
  const std::vector<std::vector<DoubleMatrix>> counts = folder_sums(ones, rows, columns);
  for (std::size_t j = 0; j < means.size(); ++j) {
    for (std::size_t k = 0; k < means[j].size(); ++k) {
      const std::span<double> values = means[j][k].values();
      for (std::size_t i = 0; i < values.size(); ++i) values[i] /= std::max(counts[j][k].values()[i], 1.0);
    }
  }
  return means;
}

// One difference of A(P f): exact and approximated.
struct Term {
  double exact = 0;
  double first = 0;
  double second = 0;
};

class Expansion {
 public:
  Expansion(const DoubleMatrix& f, const PartitionTree& rows, const PartitionTree& columns,
            const SmoothFunction& function, const ParaproductOptions& options)
      : rows_(rows),
        columns_(columns),
        a_(function),
        options_(options),
        means_(folder_means(f, options.present, rows, columns)),
        result_{f, DoubleMatrix(f.rows(), f.columns()), DoubleMatrix(f.rows(), f.columns()),
                DoubleMatrix(f.rows(), f.columns())} {
    for (double& value : result_.target.values()) value = a_.value(value);
    for (std::size_t k = 0; k < columns.level_count(); ++k) column_class_.push_back(classes_of_level(columns, k));
  }

  Paraproduct run() {
    const double root = a_.value(means_[0][0](0, 0));
    add(0, 0, [&](std::size_t, std::size_t) { return Term{root, root, root}; });
    for (std::size_t j = 0; j + 1 < rows_.level_count(); ++j) {
      add(j + 1, 0, [&](std::size_t a, std::size_t) {
        return single(means_[j][0](rows_.folders(j + 1)[a].parent, 0), means_[j + 1][0](a, 0));
      });
    }
    for (std::size_t k = 0; k + 1 < columns_.level_count(); ++k) {
      add(0, k + 1, [&](std::size_t, std::size_t b) {
        return single(means_[0][k](0, columns_.folders(k + 1)[b].parent), means_[0][k + 1](0, b));
      });
    }
    for (std::size_t j = 0; j + 1 < rows_.level_count(); ++j) {
      for (std::size_t k = 0; k + 1 < columns_.level_count(); ++k) {
        add(j + 1, k + 1, [&](std::size_t a, std::size_t b) { return mixed(j, k, a, b); });
      }
    }
    if (!options_.present.empty()) clear_absent();
    return std::move(result_);
  }

 private:
  void clear_absent() {
    for (DoubleMatrix* one : {&result_.target, &result_.telescoped, &result_.first_order, &result_.second_order}) {
      for (std::size_t i = 0; i < options_.present.size(); ++i) {
        if (options_.present[i] == 0) one->values()[i] = 0;
      }
    }
  }

  [[nodiscard]] Term single(double coarse, double fine) const {
    const double step = fine - coarse;
    const double first = a_.first(coarse) * step;
    const double second = options_.boundary == BoundaryOrder::kSecond ? a_.second(coarse) * step * step / 2 : 0;
    return {a_.value(fine) - a_.value(coarse), first, first + second};
  }

  [[nodiscard]] Term mixed(std::size_t j, std::size_t k, std::size_t a, std::size_t b) const {
    const std::size_t above = rows_.folders(j + 1)[a].parent;
    const std::size_t before = columns_.folders(k + 1)[b].parent;
    const double p = means_[j][k](above, before);
    const double finer_row = means_[j + 1][k](a, before);
    const double finer_column = means_[j][k + 1](above, b);
    const double finer_both = means_[j + 1][k + 1](a, b);
    const double first = a_.first(p) * ((finer_both - finer_row) - (finer_column - p));
    return {(a_.value(finer_both) - a_.value(finer_row)) - (a_.value(finer_column) - a_.value(p)), first,
            first + a_.second(p) * (finer_row - p) * (finer_column - p)};
  }

  // Adds `term`, evaluated for each pair of folders of levels j and k, to the elements of the pair.
  template <typename MakeTerm>
  void add(std::size_t j, std::size_t k, const MakeTerm& term) {
    const std::size_t folders = columns_.folders(k).size();
    parallel_for(rows_.folders(j).size(), [&](std::size_t a) {
      std::vector<Term> terms;
      for (std::size_t b = 0; b < folders; ++b) terms.push_back(term(a, b));
      for (const std::size_t row : rows_.elements(rows_.folders(j)[a])) {
        for (std::size_t c = 0; c < columns_.size(); ++c) {
          const Term& here = terms[column_class_[k][c]];
          result_.telescoped(row, c) += here.exact;
          result_.first_order(row, c) += here.first;
          result_.second_order(row, c) += here.second;
        }
      }
    });
  }

  const PartitionTree& rows_;
  const PartitionTree& columns_;
  const SmoothFunction& a_;
  const ParaproductOptions& options_;
  std::vector<std::vector<DoubleMatrix>> means_;
  std::vector<std::vector<std::size_t>> column_class_;
  Paraproduct result_;
};

}  // namespace

SmoothFunction exponential() noexcept {
  double (*const e)(double) = [](double x) { return std::exp(x); };
  return {e, e, e};
}

Paraproduct paraproduct(const DoubleMatrix& f, const PartitionTree& rows, const PartitionTree& columns,
                        const SmoothFunction& function, const ParaproductOptions& options) {
  if (f.rows() != rows.size() || f.columns() != columns.size()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("paraproduct: the matrix is {} x {}, but the trees have {} and {} elements", f.rows(),
                            f.columns(), rows.size(), columns.size()));
  }
  if (!options.present.empty() && options.present.size() != f.values().size()) {
    throw Error(ErrorKind::kInvalidArgument,
                "paraproduct: the mask of present entries does not match the size of the matrix");
  }
  return Expansion(f, rows, columns, function, options).run();
}

}  // namespace headscope
