/* What Rust's standard library takes random numbers from, and Wine has since its release 9
 * only: with this beside it, an older Wine runs tyrion.exe. */

typedef unsigned char byte;

__declspec(dllimport) byte __stdcall SystemFunction036(void *to, unsigned long len);

__declspec(dllexport) int __stdcall ProcessPrng(byte *to, unsigned long long len) {
    return SystemFunction036(to, (unsigned long)len);
}
