#pragma once
#include "parsnets/threads.hpp"
