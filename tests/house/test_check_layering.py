"""The layering check must be able to fail: builds small trees with one fault each."""

import tempfile
import unittest
from pathlib import Path

from check_layering import faults

LAYERS = "headscope_layer(base PRIVATE fmt::fmt)\nheadscope_layer(io LAYERS base PRIVATE fmt::fmt)\n"


class LayeringTest(unittest.TestCase):
    def check(self, files: dict[str, str]) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name in ("src", "include/headscope"):
                (root / name).mkdir(parents=True)
            for name, text in {"CMakeLists.txt": LAYERS, **files}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return faults(root)

    def test_a_clean_tree_has_no_fault(self):
        self.assertEqual(
            self.check({"src/io/a.cpp": '#include "headscope/base/error.h"\n#include <fmt/format.h>\n'}), []
        )

    def test_a_lower_layer_may_not_include_a_higher_one(self):
        self.assertEqual(len(self.check({"src/base/a.cpp": '#include "headscope/io/json.h"\n'})), 1)

    def test_a_public_header_may_not_show_a_third_party_type(self):
        self.assertEqual(len(self.check({"include/headscope/io/a.h": "#include <nlohmann/json.hpp>\n"})), 1)

    def test_private_headers_stay_in_their_layer(self):
        self.assertEqual(len(self.check({"src/io/a.cpp": '#include "base/secret.h"\n'})), 1)

    def test_every_folder_is_a_declared_layer(self):
        self.assertEqual(len(self.check({"src/extra/a.cpp": "int a;\n"})), 1)


if __name__ == "__main__":
    unittest.main()
