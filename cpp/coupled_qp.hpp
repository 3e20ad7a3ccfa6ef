#pragma once
namespace bagshift { int placeholder(); }
