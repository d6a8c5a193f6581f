#include "headscope/capture/tokenizer.h"

#include <gtest/gtest.h>
