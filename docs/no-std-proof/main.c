/* Calls the proof; the memory functions are all that the library takes from here. */
int farside_no_std_proof(void);

/* The precompiled core library names it; a panic aborts, so nothing calls it. */
void rust_eh_personality(void) {}

int main(void) {
    return farside_no_std_proof();
}
