#include "coupled_qp.hpp"
namespace bagshift { int placeholder() { return 1; } }
