// Types by the names that OpenCL C has for them: the values of IDX, OFF, ELEMENT and WORD are the same in both
// languages, and `long` has 64 bits on every system.
typedef int type_int;
typedef long long type_long;
typedef unsigned short type_ushort;
typedef unsigned int type_uint;
typedef unsigned long long type_ulong;
typedef ulonglong2 type_ulong2;
#define TYPE_OF(name) type_##name
#define TYPE(name) TYPE_OF(name)
