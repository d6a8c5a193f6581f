// Empty: clang's CUDA mode includes it, and only cuRAND's package has it.
